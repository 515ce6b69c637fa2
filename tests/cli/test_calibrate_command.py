"""`hemiola calibrate` before it measures: where it cannot, it says so at once. With hosts: tests/network."""

from pathlib import Path


def test_outside_a_job_it_says_how_to_start_one(hemiola, tmp_path: Path) -> None:
    ran = hemiola("calibrate", "-o", tmp_path / "cluster.yaml")
    assert ran.is_users_mistake()
    assert "no job found" in ran.err
    assert "hemiola launch" in ran.err
    assert not (tmp_path / "cluster.yaml").exists()


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    hemiola, tmp_path: Path
) -> None:
    for file in (tmp_path / "no such folder" / "cluster.yaml", tmp_path):
        ran = hemiola("calibrate", "--output", file)
        assert ran.is_users_mistake()
        assert "--output" in ran.err
        assert str(tmp_path) in ran.err
