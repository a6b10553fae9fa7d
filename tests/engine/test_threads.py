"""One thread of BLAS for as long as any run is under way, and what it was before after the last."""

import numpy  # noqa: F401  (its BLAS is one of those)

from stickslip.engine.threads import libraries, one_thread


def counts():
    return {library["num_threads"] for library in libraries().info() if library["user_api"] == "blas"}


def test_the_last_run_to_end_takes_the_limit_back():
    with libraries().limit(limits=2, user_api="blas"):
        before = counts()
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        assert counts() == {1}
        first.__exit__(None, None, None)
        assert counts() == {1}
        second.__exit__(None, None, None)
        assert counts() == before
