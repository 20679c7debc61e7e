"""The manifest of the corpus: what each program is, which of them are meant, and whether manifest and files agree.
Imports nothing but the standard library."""
import ast
import functools
import json
import os
import re
import warnings

CORPUS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST_LINES = 12_000
HEALTHY = "none"
ENDINGS = {"pytorch": ".py", "jax": ".py", "cupy": ".py", "triton": ".py", "cuda": ".cu"}
FIELDS = {"name": str, "file": str, "framework": str, "gpus": int, "cause": str, "accept": list, "model": str,
          "flaw": (str, type(None)), "cure": (str, type(None)), "measured_gain": (float, type(None)), "set": str}
OPTIONAL = {"batch": int, "cured_batch": int, "loader": bool, "environment": dict, "profiler": dict, "needs": list}


def read(corpus=CORPUS):
    with open(os.path.join(corpus, "manifest.json"), encoding="utf-8") as file:
        return json.load(file)


def chosen(programs, names=(), cause=(), framework=(), gpus=None, author_set=(), only=""):
    """Those that fit all that is asked for; an empty condition asks for nothing."""
    conditions = [(names, "name"), (cause, "cause"), (framework, "framework"), (author_set, "set")]
    return [p for p in programs if all(not wanted or p[key] in wanted for wanted, key in conditions)
            and (gpus is None or p["gpus"] == gpus) and re.search(only, p["name"])]


def named(name, corpus=CORPUS):
    """The program of this name, or None."""
    return next((p for p in read(corpus)["programs"] if p["name"] == name), None)


def folder_of(program):
    return f"{program['framework']}/{'healthy' if program['cause'] == HEALTHY else program['cause']}"


# --- do manifest and files agree? ------------------------------------------------------------------------------------

def faults(corpus=CORPUS):
    """What is wrong with the corpus, one sentence each; nothing of it is run."""
    manifest = read(corpus)
    programs, found = manifest["programs"], []
    for program in programs:
        found += faults_of_entry(program, manifest)
    names = [p.get("name") for p in programs]
    twice = sorted({name for name in names if names.count(name) > 1})
    found += [f"{name}: more than one program has this name" for name in twice]
    listed = {p["file"] for p in programs if "file" in p}
    on_disk = {path for path in files(corpus) if path.split("/")[0] in ENDINGS}
    found += [f"{path}: no such file" for path in sorted(listed - on_disk)]
    found += [f"{path}: not in manifest.json" for path in sorted(on_disk - listed)]
    for path in files(corpus):
        found += faults_of_file(corpus, path, path in listed)
    found += faults_of_causes(corpus, {p.get("cause") for p in programs})
    lines = sum(line_count(corpus, path) for path in files(corpus))
    if lines > MOST_LINES:
        found.append(f"{lines} lines in all, {MOST_LINES} at most")
    return found


def files(corpus=CORPUS):
    """All files of the corpus, relative to it."""
    paths = []
    for folder, folders, names in os.walk(corpus):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        paths += [os.path.relpath(os.path.join(folder, name), corpus) for name in sorted(names)]
    return paths


def line_count(corpus, path):
    with open(os.path.join(corpus, path), encoding="utf-8") as file:
        return sum(1 for _ in file)


def faults_of_entry(program, manifest):
    name, found = program.get("name", "a program without a name"), []
    for field, kind in FIELDS.items():
        if field not in program:
            found.append(f"{name}: no {field}")
        elif not isinstance(program[field], kind):
            found.append(f"{name}: {field} is {program[field]!r}")
    for field, value in program.items():
        if field not in FIELDS and not isinstance(value, OPTIONAL.get(field, ())):
            found.append(f"{name}: {field} is unknown, or not to be {value!r}")
    if found:
        return found
    if program["framework"] not in ENDINGS or program["framework"] not in manifest["frameworks"]:
        return [f"{name}: unknown framework {program['framework']}"]
    if program["file"] != f"{folder_of(program)}/{name}{ENDINGS[program['framework']]}":
        found.append(f"{name}: {program['file']} does not stand in {folder_of(program)}, or is named otherwise")
    if program["set"] not in manifest["sets"]:
        found.append(f"{name}: unknown set {program['set']}")
    if program["gpus"] not in (1, 2):
        found.append(f"{name}: {program['gpus']} GPUs")
    return found + faults_of_cure(program)


def faults_of_cure(program):
    name, gain = program["name"], program["measured_gain"]
    if program["cause"] == HEALTHY:
        extra = [field for field in ("cure", "flaw", "measured_gain") if program[field] is not None]
        return [f"{name}: healthy, and yet has a {field}" for field in extra]
    found = []
    if not program["cure"]:
        found.append(f"{name}: no cure")
    if program["cause"] not in program["accept"]:
        found.append(f"{name}: its cause {program['cause']} is not among what is accepted")
    if gain is not None and gain <= 0:
        found.append(f"{name}: a gain of {gain}")
    if "cured_batch" in program and "batch" not in program:
        found.append(f"{name}: a batch when cured, but none when flawed")
    return found


def faults_of_file(corpus, path, is_program):
    with open(os.path.join(corpus, path), encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".cu"):
        return [] if "int main(" in text else [f"{path}: has no main"]
    if not path.endswith(".py"):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)
            tree = ast.parse(text, path)
            compile(text, path, "exec")
    except (SyntaxError, SyntaxWarning, ValueError) as error:
        return [f"{path}: does not compile: {error}"]
    if is_program and "program" not in names_in(tree):
        return [f"{path}: defines no program"]
    return faults_of_imports(corpus, path, tree)


def names_in(tree):
    """What a module defines."""
    names = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return names


@functools.lru_cache
def names_of(source, _changed):
    with open(source, encoding="utf-8") as file:
        return names_in(ast.parse(file.read()))


def faults_of_imports(corpus, path, tree):
    """What is imported from shared/ is there."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] != "shared":
            continue
        for alias in node.names:
            module = node.module if node.module != "shared" else f"shared.{alias.name}"
            source = os.path.join(corpus, *module.split(".")) + ".py"
            if not os.path.exists(source):
                found.append(f"{path}: imports {module}, which is not there")
                continue
            elif node.module != "shared" and alias.name not in names_of(source, os.path.getmtime(source)):
                found.append(f"{path}: imports {alias.name}, which {module} does not define")
    return found


def faults_of_causes(corpus, causes):
    """Within the source tree: each cause is the id of a rule, which has a file of its name."""
    rules = os.path.join(os.path.dirname(corpus), "src", "analyze", "rules")
    if not os.path.isdir(rules):
        return []
    known = {os.path.splitext(name)[0] for _, _, names in os.walk(rules) for name in names}
    return [f"cause {cause}: no rule has this id" for cause in sorted(causes - known - {HEALTHY, None})]
