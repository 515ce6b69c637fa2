"""What holds for every command: help, exit codes, one line for a mistake."""

import pytest


def test_no_arguments_print_the_help(hemiola) -> None:
    ran = hemiola()
    assert ran.code == 0
    assert "Usage" in ran.out


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["--nonsense"], ["doctor", "--nonsense"], ["doctor", "x"], [""]]
)
def test_a_wrong_command_or_option_is_one_line_and_exit_code_2(hemiola, arguments: list[str]) -> None:
    ran = hemiola(*arguments)
    assert ran.is_users_mistake(), ran


def test_arguments_that_are_no_unicode_are_one_line_and_exit_code_2(hemiola) -> None:
    ran = hemiola("\udcff\udc80")
    assert ran.is_users_mistake(), ran
