"""What docs/store.md shows runs on a store that warpmark made, and names its tables. usage: page_test.py WARPMARK SOURCE"""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

WARPMARK, SOURCE = sys.argv[1], sys.argv[2]


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.store = os.path.join(cls.folder.name, "results.db")
        subprocess.run([WARPMARK, "run", "--rounds", "3", "--name", "job", "--db", cls.store, "--", "true"], check=True,
                       capture_output=True)
        with open(os.path.join(SOURCE, "docs/store.md"), encoding="utf-8") as file:
            cls.text = file.read()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def blocks(self, language):
        return re.findall(rf"```{language}\n(.*?)```", self.text, re.DOTALL)

    def test_queries_run(self):
        database = sqlite3.connect(self.store)
        newest, branch = self.blocks("sql")
        rows = database.execute(newest).fetchall()
        self.assertEqual({row[2] for row in rows}, {"command"})
        database.execute(branch).fetchall()
        database.close()

    def test_every_table_and_column_is_there(self):
        database = sqlite3.connect(self.store)
        there = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        named = dict(re.findall(r"^\| `(\w+)` \| [^|]* \| (.*) \|$", self.text, re.MULTILINE))
        self.assertEqual(set(named), {name for name in there if name != "schema_version" and not name.startswith("sqlite_")})
        for table, columns in named.items():
            known = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
            self.assertEqual(set(re.findall(r"`([a-z_]+)`", columns)) - known, set(), table)
        database.close()

    def test_samples_are_read_as_it_says(self):
        (program,) = self.blocks("python")
        said = subprocess.run([sys.executable, "-c", program, self.store], check=True, capture_output=True, text=True).stdout
        values = re.search(r"^time s \((.*)\)$", said, re.MULTILINE)[1].split(", ")
        self.assertEqual(len(values), 3)
        self.assertTrue(all(float(value) > 0 for value in values))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"] + sys.argv[3:])
