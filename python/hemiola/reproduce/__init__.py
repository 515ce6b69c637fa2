"""The papers' tables and figures again, from this project's own runs and simulations: one file per paper."""
