"""Pictures; see the modules. Called, `ss.view(scene)` opens the lab: `view` of stickslip/lab/view.py.

This folder and that function share a name. Whichever is loaded first, `ss.view` is the function or, by the class below,
does what it does.
"""

import sys
from types import ModuleType
from typing import Any


class Door(ModuleType):
    def __call__(self, *args: Any, **settings: Any) -> Any:
        from stickslip.lab.view import view

        return view(*args, **settings)


sys.modules[__name__].__class__ = Door
