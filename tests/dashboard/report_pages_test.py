"""Pages of reports in a real browser: none scrolls sideways, nothing is cut without a mark, no word is broken, and
none is one that the field has another for."""

import os
import subprocess
import sys
import tempfile
import unittest

import browser as driving

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
PAGES = {
    "compare": ["report", "answers/comparison.json", "--format", "html"],
    "matrix": ["report", "answers/matrix.json", "--format", "html"],
    "accept": ["report", "answers/acceptance.json", "--format", "html"],
    "bisect": ["report", "answers/bisection.json", "--format", "html"],
    "optimize": ["report", "answers/optimization.json", "--format", "html"],
    "run": ["report", "exchange/nvbench.json", "--format", "html"],
    "analyze": ["analyze", "traces/dlrm_row_by_row.wmrec", "--format", "html"],
    "analyze --against": ["analyze", "traces/dlrm_row_by_row.wmrec", "--against", "traces/dlrm_row_by_row.wmrec",
                          "--format", "html"],
    "plan": ["plan", "--model", "llama3-70b", "--gpus", "64", "--format", "html"],
    "scale": ["scale", "--times", "1=620s,2=350s,4=180s,8=95s", "--format", "html"],
    "doctor": ["doctor", "--format", "html"],
    "check": ["check", "--results", "exchange/hyperfine.json", "--baseline", "exchange/hyperfine.json", "--format", "html"],
}

# Words of tables that are broken across lines.
BROKEN = """
const flaws = [];
for (const cell of document.querySelectorAll('td')) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    for (const word of text.data.matchAll(/(?<![A-Za-z0-9])[A-Za-z0-9]{2,32}(?![A-Za-z0-9])/g)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(line => Math.round(line.top)));
      if (lines.size > 1) flaws.push('broken word: ' + word[0] + ' in ' + cell.textContent.slice(0, 60));
    }
  }
}
return flaws;
"""


class ReportPages(unittest.TestCase):
    def test_fit_a_phone_and_break_no_word(self):
        with tempfile.TemporaryDirectory(prefix="warpmark-pages-") as folder:
            browser = driving.start_browser(os.path.join(folder, "profile"))
            try:
                for name, words in PAGES.items():
                    made = subprocess.run([WARPMARK, *words], cwd=DATA, capture_output=True, check=True, timeout=120)
                    page = os.path.join(folder, "page.html")
                    with open(page, "wb") as file:
                        file.write(made.stdout)
                    for scheme in ("light", "dark"):
                        with self.subTest(page=name, scheme=scheme):
                            self.probe(browser, page, scheme)
            finally:
                browser.quit()

    def probe(self, browser, page, scheme):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        for width in (1280, 390):
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
            browser.get("file://" + page)
            for flaws in (driving.TOO_WIDE, BROKEN):
                self.assertEqual(browser.execute_script(flaws), [], f"{width} pixels wide")
        self.assertEqual(driving.FORBIDDEN.findall(browser.execute_script("return document.body.innerText")), [])
        stacked = browser.execute_script("return [...document.querySelectorAll('section .stacks td')].filter("
                                         "one => one.textContent !== '' && one.getBoundingClientRect().right > 391).length")
        self.assertEqual(stacked, 0, "each value of a stacked table is in sight")


if __name__ == "__main__":
    WARPMARK = os.path.abspath(sys.argv.pop(1))
    PROBLEM = driving.why_not()
    if PROBLEM:
        print("skipped:", PROBLEM)
        sys.exit(77)
    unittest.main(verbosity=2)
