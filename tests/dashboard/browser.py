"""A real browser on the pages, and the dashboard that serves them."""

import os
import re
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

# What is wider than the page and in no box that scrolls; boxes that scroll and do not show it; stacked tables that do.
TOO_WIDE = """
document.querySelectorAll('details').forEach(one => one.open = true);
const flaws = [], width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width) flaws.push('the page scrolls sideways');
for (const one of document.querySelectorAll('main *')) {
  if (one.closest('.scroll') || one.closest('svg')) continue;
  if (one.getBoundingClientRect().right > width + 1) flaws.push('cut: ' + one.tagName + ' ' + one.textContent.slice(0, 40));
}
for (const box of document.querySelectorAll('.scroll')) {
  const scrolls = box.scrollWidth > box.clientWidth + 1, text = box.textContent.trim().slice(0, 40);
  if (box.getBoundingClientRect().right > width + 1) flaws.push('cut: ' + text);
  if (!scrolls) continue;
  if (getComputedStyle(box).overflowX !== 'auto') flaws.push('does not scroll: ' + text);
  if (!getComputedStyle(box).backgroundImage.includes('gradient')) flaws.push('no mark: ' + text);
  if (box.querySelector('section .stacks') && !box.closest('details')) flaws.push('stacked and yet too wide: ' + text);
}
return flaws;
"""

# Words of our own where the field has one.
FORBIDDEN = re.compile(
    r"\b(cures?|cured|curing|mend(?:s|ed|ing)?|foretells?|foretold|mistrusted|needless|blamed?|journeys?|hopeless|witness(?:es)?"
    r"|beside|tells?|told|telling|whom|set against|(?:times|twice) as fast|as fast as|roofs?|given up|taken for|afterwards|nothing of"
    r"|by hand|comes? along|anew|whoever|changes? of level|fewest|handed on|last words|ignorance|guardian|testimony)\b", re.I)


def why_not():
    """Why no browser can be driven here; empty if one can."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "python3-selenium is not installed"
    if not CHROMIUM or not DRIVER:
        return "chromium or chromedriver is not installed"
    if subprocess.run([DRIVER, "--version"], capture_output=True, check=False).returncode != 0:
        return "chromedriver does not start (Ubuntu's packages ask for snap)"
    return ""


def start_browser(profile):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--disable-extensions", "--no-first-run", "--disable-background-networking", "--lang=en",
                     f"--user-data-dir={profile}", "--window-size=1200,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("acceptInsecureCerts", True)
    browser = webdriver.Chrome(service=Service(DRIVER), options=options)
    browser.set_page_load_timeout(60)
    return browser


class Dashboard:
    """`warpmark dashboard` as a child process, ready when it has said so."""

    def __init__(self, executable, *arguments, environment=None, command=None):
        command = command or [executable, "dashboard", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on (https?://\S+/)\n", line)
        if not found:
            self.process.kill()
            raise AssertionError(line + self.process.stderr.read())
        self.url = found.group(1)
        self.port = int(self.url.rsplit(":", 1)[1].rstrip("/"))

    def stop(self):
        """Its exit code after Ctrl-C."""
        self.process.send_signal(2)
        try:
            code = self.process.wait(timeout=30)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.stderr.close()
        return code

    def memory_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


def until(asked, seconds=20, what="it"):
    """What `asked` returns as soon as that is true."""
    end = time.monotonic() + seconds
    while True:
        found = asked()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come within {seconds} s")
        time.sleep(0.05)
