"""The settings of a new job, on a server that takes its time."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from tests.acceptance.service import Up


def test_a_late_answer_undoes_nothing(service: Up, page: Page) -> None:
    """What is typed and chosen while the settings are on their way stays, and the settings follow all of it."""
    page.goto(f"{service.url}/new")
    page.get_by_label("Network", exact=True).select_option("lenet300_100")
    page.get_by_text("All settings").click()
    page.locator("#section-training > summary").click()
    page.locator("#section-prune > summary").click()
    epochs, pruner = page.locator("[id='field-training.epochs']"), page.locator("#field-prune")

    late = hold_settings(page)
    with page.expect_request("**/new/settings"):
        page.get_by_label("Data set", exact=True).select_option("digits")
    epochs.fill("3")
    late[0].continue_()
    expect(page.locator("#section-method > summary")).to_contain_text("none")
    expect(epochs).to_have_value("3")

    late = hold_settings(page)
    with page.expect_request("**/new/settings"):
        page.get_by_label("As small as possible, losing little accuracy").check()
    pruner.select_option("magnitude")
    late[0].continue_()
    expect(page.locator("[id='field-prune.sparsity']")).to_be_visible()
    expect(page.locator("#section-method > summary")).not_to_contain_text("none")
    expect(pruner).to_have_value("magnitude")
    expect(epochs).to_have_value("3")


def hold_settings(page: Page) -> list[Route]:
    """A list that gets the next request for the settings, which waits until it is continued."""
    held: list[Route] = []
    page.route("**/new/settings", lambda route: held.append(route), times=1)  # Playwright marks it
    return held
