"""The workbench in a headless Chromium, over ``corollary serve`` in a process of its own.

The data is small enough for all counts to be known: E has 13 triples of ours, and each expected proof and
inconsistency is stated in ``DATA``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

for needed in ("starlette", "uvicorn", "selenium"):
    if find_spec(needed) is None:
        pytest.skip(f"needs {needed}: pip install 'corollary[dev]'", allow_module_level=True)
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("needs chromium and chromedriver", allow_module_level=True)

from selenium import webdriver  # noqa: E402
from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

pytestmark = pytest.mark.slow

TOKEN = "the token of the tests of the workbench"
DATA = f"""
@prefix : <http://example.org/family#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

:ancestor a owl:TransitiveProperty .
:parent rdfs:subPropertyOf :ancestor .
:Person owl:disjointWith :Cat .
:Person rdfs:subClassOf :Animal .
:ann :parent :bob ; rdfs:label "<img src=x onerror=alert(1)><b>Ann</b>" ; rdfs:seeAlso <javascript:alert(1)> .
:bob :parent :cid ; a :Person , :Cat .
:cid :parent :dora ; :age 7 ; :note "{"a long text " * 60}" .
"""
EXPLICIT = 13
ANCESTORS = {"ann": ["bob", "cid", "dora"], "bob": ["cid", "dora"], "cid": ["dora"]}
QUERY = "SELECT ?s ?p ?o { VALUES ?p { :ancestor } ?s ?p ?o }"
SECONDS = 30


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    """The address of a server in a process of its own."""
    (folder / "family.ttl").write_text(DATA)
    command = [sys.executable, "-c", "from corollary.cli import main; main()", "serve", "family.ttl"]
    command += ["--rules", "owl2rl", "--port", "0", *options]
    environment = {**os.environ, "COROLLARY_TOKEN": TOKEN}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        said = []
        try:
            for line in process.stderr:
                said.append(line)
                if found := re.search(r"http://[\d.:]+/", line):
                    yield found[0]
                    return
            raise AssertionError("".join(said))
        finally:
            process.terminate()
            process.stderr.read()


class Page:
    """The workbench in a window of a browser. Nothing is stored there from earlier windows."""

    def __init__(
        self, driver: webdriver.Chrome, address: str, width: int, scheme: str, downloads: Path
    ) -> None:
        self.driver, self.downloads = driver, downloads
        self._first = driver.current_window_handle
        driver.get_log("browser")  # type: ignore[no-untyped-call] # what other windows said
        driver.switch_to.new_window("window")
        for command in ("Network.clearBrowserCache", "Network.clearBrowserCookies"):
            driver.execute_cdp_cmd(command, {})
        stored = {"origin": address.rstrip("/"), "storageTypes": "all"}
        driver.execute_cdp_cmd("Storage.clearDataForOrigin", stored)
        kept = {"behavior": "allow", "downloadPath": str(downloads)}
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", kept)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.driver.get(address)
        self.wait(lambda: self.run("return 'ready' in document.documentElement.dataset"))

    def close(self) -> None:
        """Close the window."""
        self.driver.close()
        self.driver.switch_to.window(self._first)

    def wait(self, is_so: Callable[[], Any]) -> Any:
        """Wait until something is so."""
        gone = [StaleElementReferenceException]  # the page has replaced an element meanwhile
        return WebDriverWait(self.driver, SECONDS, ignored_exceptions=gone).until(lambda _: is_so())

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script."""
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str, text: str | None = None) -> list[Any]:
        """The elements on show, those with a text."""
        found = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return [each for each in found if each.is_displayed() and text in (None, each.text)]

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements on show."""
        return [each.text for each in self.all(selector)]

    def click(self, selector: str, text: str | None = None) -> None:
        """Click on an element once it is there, and wait as ``settle`` does."""
        element = self.wait(lambda: next(iter(self.all(selector, text)), None))
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is being fetched, or the token is asked for."""
        busy = (By.CSS_SELECTOR, "[aria-busy]")
        self.wait(lambda: self.all("dialog[open]") or not self.driver.find_elements(*busy))

    def write(self, query: str) -> None:
        """Replace the query."""
        script = "return document.getElementById('editor').shadowRoot.querySelector('.cm-content')"
        self.run(script).click()
        keys = webdriver.ActionChains(self.driver)
        keys.key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(Keys.DELETE).perform()
        self.driver.execute_cdp_cmd("Input.insertText", {"text": query})

    def ask(self, query: str) -> None:
        """Run a query, and wait for its result."""
        self.press_run(query)
        self.wait(lambda: self.texts("#results > *"))
        self.settle()

    def press_run(self, query: str) -> None:
        """Run a query by the keyboard."""
        self.run("document.getElementById('results').replaceChildren()")
        self.write(query)
        webdriver.ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(
            Keys.CONTROL
        ).perform()

    def downloaded(self, name: str) -> str:
        """The text of a file that was saved."""
        path = self.downloads / name
        self.wait(lambda: path.exists() and path.stat().st_size)
        text = path.read_text()
        path.unlink()
        return text

    def unlock(self) -> None:
        """Give the token."""
        self.wait(lambda: self.all("#token"))[0].send_keys(TOKEN, Keys.ENTER)
        self.wait(lambda: not self.all("dialog[open]"))
        self.settle()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("served"), "--writable") as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """A browser for all tests: it takes seconds to start."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(str(DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["wide-light", "phone-dark"])
def page(
    request: pytest.FixtureRequest, browser: webdriver.Chrome, address: str, tmp_path: Path
) -> Iterator[Page]:
    """The page, wide and narrow. At its end the console has no error, and nothing is cut off."""
    width, scheme = request.param
    page = Page(browser, address, width, scheme, tmp_path)
    try:
        yield page
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        errors = [each for each in page.driver.get_log("browser") if each["level"] == "SEVERE"]  # type: ignore[no-untyped-call]
        assert errors == []
    finally:
        page.close()


def test_rows_are_sorted_and_lead_to_terms_and_proofs(page: Page) -> None:
    expected = [(f":{a}", f":{b}") for a, below in ANCESTORS.items() for b in below]
    assert page.texts(".fact-count")[0] == f"{EXPLICIT} explicit"
    page.ask(QUERY)
    assert page.texts("#result-count") == [f"{len(expected)} rows"]
    page.click(".sort", "o")
    page.click(".sort", "o")
    cells = page.texts("#result tbody td .term")
    assert cells[2::3] == sorted((b for _, b in expected), reverse=True)
    assert page.texts("#result .badge") == ["inferred"] * len(expected)
    page.click("[aria-label='Why :ann :ancestor :dora?']")
    assert "4 rule applications" in page.texts("#inspector .tree")[0] + page.texts("#inspector")[0]
    assert (
        len(page.all("#inspector .step.given")) == 7
    )  # three edges, each with its subproperty; transitivity
    page.click("#inspector button", "Fold all")
    assert not page.all("#inspector .step.given")
    page.click("#inspector button", "Unfold all")
    page.click("#inspector .bindings summary")
    page.click("#inspector button", "Look for other proofs")
    page.click("#inspector h2 .term", ":ann")
    assert page.texts("#inspector h2") == [":ann"]
    page.click("#inspector button", "Back")
    page.click("#inspector button", "Close")
    assert not page.all("#inspector")


def test_nothing_of_the_data_is_markup_or_a_script(page: Page) -> None:
    page.ask(
        "SELECT ?s ?p ?o { ?s ?p ?o FILTER(?s = :ann && (isLiteral(?o) || !CONTAINS(STR(?o), 'family'))) }"
    )
    assert "<img src=x onerror=alert(1)><b>Ann</b>" in page.texts("#result .value")
    page.click("#result .term", "<javascript:alert(1)>")
    assert page.texts("#inspector .iri") == ["javascript:alert(1)"]
    assert page.run("return document.querySelectorAll('img, a[href^=\"javascript:\" i]').length") == 0
    page.click("#inspector button", "Query this term")
    assert page.texts("#result-count") == ["1 row"]
    page.ask("SELECT ?s ?p ?o { :cid :note ?o . ?s ?p ?o }")
    names = page.all("#result td button.term")
    assert len(names) == 2 and all(name.size["height"] < 30 for name in names)  # each on one line


def test_completion_knows_prefixes_terms_and_variables(page: Page) -> None:
    labels = "document.getElementById('editor').shadowRoot.querySelectorAll('.cm-completionLabel')"
    script = f"return [...{labels}].map(each => each.textContent)"
    cases = {"SELECT * { ?s :anc": ":ancestor", "PREFIX ow": "owl:", "SELECT ?who { ?w": "?who"}
    for typed, expected in cases.items():
        page.write(typed[:-1])
        webdriver.ActionChains(page.driver).send_keys(typed[-1]).perform()
        page.wait(lambda expected=expected: expected in page.run(script))  # type: ignore[misc]
        webdriver.ActionChains(page.driver).send_keys(Keys.ESCAPE).perform()


def test_a_graph_is_drawn_and_every_format_saved(page: Page) -> None:
    page.ask("CONSTRUCT { ?a :parent ?b } WHERE { ?a :parent ?b }")
    assert page.texts("#result-count") == ["3 triples"]
    page.click("#tab-graph")
    assert (len(page.all(".drawing .node")), len(page.all(".drawing .edge"))) == (4, 3)
    for name in ("Zoom in", "Zoom out", "Fit"):
        page.click(".drawing button", name)
    page.all(".drawing .node[role]")[0].send_keys(Keys.ENTER)
    page.settle()
    page.click("#inspector button", "Close")
    assert _saved(page, "Turtle", "result.ttl").count(":parent") == 3
    assert len(_saved(page, "N-Triples", "result.nt").splitlines()) == 3
    assert "rdf:RDF" in _saved(page, "RDF/XML", "result.rdf")
    assert json.loads(_saved(page, "JSON-LD", "result.jsonld"))
    page.ask(QUERY)
    assert len(json.loads(_saved(page, "JSON", "result.json"))["results"]["bindings"]) == 6
    assert "<sparql" in _saved(page, "XML", "result.xml")
    assert len(_saved(page, "CSV", "result.csv").splitlines()) == 7
    assert len(_saved(page, "TSV", "result.tsv").splitlines()) == 7


def _saved(page: Page, format: str, name: str) -> str:
    script = "const e = document.getElementById('format'); e.value = arguments[0]; return e.value"
    assert page.run(script, format) == format
    page.click("#download")
    return page.downloaded(name)


def test_answers_errors_and_pages(page: Page) -> None:
    page.ask("ASK { :ann :ancestor :dora }")
    assert page.texts(".answer strong") == ["Yes"]
    page.ask("SELECT ?a ?b { VALUES ?a { 1 2 3 4 5 6 7 8 } VALUES ?b { 1 2 3 4 5 6 7 8 } }")
    assert page.texts(".pager span") == ["Page 1 of 3"]
    for name, expected in (("Next", 2), ("Last", 3), ("Previous", 2), ("First", 1)):
        page.click(f"[aria-label='{name} page']")
        assert page.texts(".pager span") == [f"Page {expected} of 3"]


def test_terms_and_inconsistencies(page: Page) -> None:
    page.click("#tab-browse")
    row = next(row for row in page.all(".counts tr") if row.text.startswith(":Animal"))
    assert [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td.number")] == ["0", "1"]
    page.all("[aria-label='Filter properties']")[0].send_keys(":anc")
    assert [text for text in page.texts(".counts th .term") if "anc" in text] == [":ancestor"]
    page.click("[aria-label='Query :Animal']")
    assert page.texts("#result-count") == ["1 row"]
    page.click("#tab-clashes")
    assert page.texts(".clash summary strong") == ["cax-dw"]
    causes = page.texts(".clash .triple")
    assert sorted(causes) == [":Person owl:disjointWith :Cat", ":bob a :Cat", ":bob a :Person"]
    page.click(".clash .why")
    assert page.texts("#inspector .badge.explicit") == ["Explicit"]


def test_rules_are_switched_and_added_and_the_change_is_shown(page: Page) -> None:
    before = page.texts(".fact-count")
    page.click("#tab-rules")
    page.click("[role=switch][aria-label='prp-trp']")
    page.unlock()
    page.wait(lambda: page.all("[role=switch][aria-label='prp-trp'][aria-checked=false]"))
    assert "prp-trp is off" in page.texts(".notice strong")
    page.wait(lambda: page.texts(".fact-count") != before)
    page.click("#tab-change")
    assert "removed" in " ".join(page.texts(".figure dt"))
    assert page.all(".layers tbody tr")
    page.click("#tab-rules")
    page.click("[role=switch][aria-label='prp-trp']")
    page.wait(lambda: page.texts(".fact-count") == before)
    page.click(".adding summary")
    text = "@prefix : <http://example.org/family#> . [?y, :child, ?x] :- [?x, :parent, ?y] ."
    page.all("#new-rule")[0].send_keys(text)
    page.click("#add-rule")
    page.wait(lambda: "Rule added" in page.texts(".notice strong"))
    page.click("tr:has(.badge) [role=switch]")
    page.wait(lambda: page.texts(".fact-count") == before)
    page.click(".rule-name button", "Forget")
    page.wait(lambda: not page.all(".rule-name .badge"))
    page.click("#token-button", "Lock")
    assert page.texts("#token-button") == ["Unlock"]
    page.click("#token-button")
    page.all("#token")[0].send_keys(TOKEN)
    page.click("#token-dialog button", "Use token")
    page.click("#token-button", "Lock")
    page.click("#token-button")
    page.click("#token-dialog button", "Cancel")
    assert page.texts("#token-button") == ["Unlock"]


def test_updates_need_the_token(page: Page) -> None:
    page.press_run("INSERT DATA { :dora :parent :emil }")
    page.unlock()
    page.wait(lambda: page.texts(".fact-count")[0] == f"{EXPLICIT + 1} explicit")
    page.ask("DELETE DATA { :dora :parent :emil }")
    page.wait(lambda: page.texts(".fact-count")[0] == f"{EXPLICIT} explicit")
    page.click("#results button", "What it cost")
    assert page.all(".figures")


def test_keys_and_themes(page: Page) -> None:
    tab = page.all("#tab-query")[0]
    tab.click()
    tab.send_keys(Keys.ARROW_RIGHT)
    page.settle()
    assert page.run("return document.activeElement.id") == "tab-browse"
    assert page.all("#panel-browse") and not page.all("#panel-query")
    colours = {}
    for _ in range(3):
        name = page.run("return document.documentElement.dataset.theme")
        colours[name] = page.run("return getComputedStyle(document.body).backgroundColor")
        page.click("#theme-button")
    assert set(colours) == {"auto", "light", "dark"}
    assert colours["light"] != colours["dark"]


def test_a_server_that_is_not_writable_says_so(browser: webdriver.Chrome, tmp_path: Path) -> None:
    with served(tmp_path) as address:
        page = Page(browser, address, 1280, "light", tmp_path)
        try:
            page.click("#tab-rules")
            assert page.texts(".notice strong") == ["Read-only"]
            assert not page.all("#token-button")
            assert all(not each.is_enabled() for each in page.all("[role=switch]"))
        finally:
            page.close()
