"""The data files of the site: tables for programs, and what describes and cites them."""
