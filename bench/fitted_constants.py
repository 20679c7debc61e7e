"""The fitted constants of the analysis (src/analyze/*/fitted.cpp), and the program with one of them moved.

A constant is data of the program that no other file sees when it is compiled, so it is moved in a copy of the executable:
nm tells its address, readelf where that lies in the file, and the bytes there must be those of the value in the source."""
import glob
import os
import re
import stat
import struct
import subprocess

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "analyze", "*", "fitted.cpp")
DEFINITION = re.compile(r"^const (double|float) (k\w+) = ([^;]+);", re.MULTILINE)


def value_of(text):
    """Of "1.0 / 6", "0.35F", "4'200"."""
    parts = [float(part.strip().rstrip("F").replace("'", "")) for part in text.split("/")]
    return parts[0] / parts[1] if len(parts) == 2 else parts[0]


def constants():
    """[(room, type, name, value)], as the sources have them."""
    found = []
    for path in sorted(glob.glob(SOURCES)):
        with open(path, encoding="utf-8") as stream:
            room = os.path.basename(os.path.dirname(path))
            found += [(room, kind, name, value_of(value)) for kind, name, value in DEFINITION.findall(stream.read())]
    return found


def packed(kind, value):
    return struct.pack("<f" if kind == "float" else "<d", value)


def addresses(program):
    """{name: address} of the constants in the executable."""
    listing = subprocess.run(["nm", "-C", program], capture_output=True, text=True, check=True).stdout
    return {name: int(address, 16) for address, name in
            re.findall(r"^([0-9a-f]+) [rRdDB] warpmark::analyze::(k\w+)$", listing, re.MULTILINE)}


def offset_of(program, address):
    """Where the address lies in the file."""
    listing = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    for start, at, size in re.findall(r"^ *LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", listing, re.MULTILINE):
        if int(at, 16) <= address < int(at, 16) + int(size, 16):
            return int(start, 16) + address - int(at, 16)
    raise ValueError(f"{program}: no part of the file is loaded at {address:#x}")


def moved(program, constant, factor, copy):
    """Writes the program as `copy`, with this constant `factor` times as large."""
    _, kind, name, value = constant
    known = addresses(program)
    if name not in known:
        raise ValueError(f"{program} does not name {name}: it is stripped, or of other sources")
    with open(program, "rb") as stream:
        content = bytearray(stream.read())
    at = offset_of(program, known[name])
    old = packed(kind, value)
    if content[at:at + len(old)] != old:
        raise ValueError(f"{program} has another {name} than the sources: build it anew")
    content[at:at + len(old)] = packed(kind, value * factor)
    with open(copy, "wb") as stream:
        stream.write(content)
    os.chmod(copy, os.stat(copy).st_mode | stat.S_IXUSR)
