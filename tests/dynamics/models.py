"""Small models as MJCF and URDF text, for tests."""

import math
import struct

GRAVITY = 9.81


def slope(angle, mu=0.8, more="", geom="", option=""):
    """A block of 1 kg on a plane that is tilted by turning gravity."""
    down = f"{GRAVITY * math.sin(angle):.17g} 0 {-GRAVITY * math.cos(angle):.17g}"
    return f"""<mujoco model="slope"><option gravity="{down}" timestep="0.002" {option}/>
    <worldbody><geom name="floor" type="plane" size="5 5 .1" friction="{mu}"/>
    <body name="block" pos="0 0 .1"><freejoint/>
    <geom name="block" type="box" size=".1 .1 .1" mass="1" friction="{mu}" {geom}/></body>
    </worldbody>{more}</mujoco>"""


CHAIN = """<mujoco model="chain"><compiler angle="radian"/><option timestep="0.002" {option}><flag contact="disable"/>
  </option><worldbody>
  <body name="ball" pos="0 0 2"><freejoint/><geom type="box" size=".1 .2 .3" mass="2"/></body>
  <body name="upper" pos="1 0 1"><joint name="shoulder" axis="0 1 0" damping="0.2" stiffness="3" springref="0.4"/>
    <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" mass="1"/>
    <body name="lower" pos=".5 0 0"><joint name="elbow" axis="0 1 0" armature="0.01"/>
      <joint name="slide" type="slide" axis="1 0 0" damping="1"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" mass=".5"/></body></body>
  </worldbody><actuator><motor name="motor" joint="elbow" gear="2"/>
  <velocity name="servo" joint="shoulder" kv="{kv}"/></actuator></mujoco>"""


def write_stl(path, size=0.1):
    """A tetrahedron as a binary STL file."""
    a, b, c, d = (0, 0, 0), (size, 0, 0), (0, size, 0), (0, 0, size)
    faces = [(a, c, b), (a, b, d), (a, d, c), (b, c, d)]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *sum(face, ()), 0) for face in faces)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + body)


INERTIAL = '<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'


def urdf(mesh):
    """One link with a mesh on a hinge."""
    shape = f'<collision><geometry><mesh filename="{mesh}"/></geometry></collision>'
    return f"""<robot name="one"><link name="base">{INERTIAL}</link><link name="arm">{INERTIAL}{shape}</link>
    <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
