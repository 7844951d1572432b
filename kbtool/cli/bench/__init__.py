"""`kbtool bench`: measured records from a real engine. The only place where the runner meets store and lint."""
