"""Reads the Iceberg tables of a lake with pyiceberg and DuckDB, and prints where they differ from the lake's own files.

python readers.py FOLDER EXPECTED.json: {"table": …, "firstMs": …, "instants": [{"atMs": …, "files": ["file:///…"]}]}
"""
import json
import os
import sys

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
from pyiceberg.table import StaticTable

folder, expected = sys.argv[1], json.load(open(sys.argv[2]))
db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for module, name in ((duckdb_extension_avro, "avro"), (duckdb_extension_iceberg, "iceberg")):
    extensions = os.path.join(os.path.dirname(module.__file__), "extensions")
    db.execute(f"LOAD '{extensions}/v{duckdb.__version__}/{name}.duckdb_extension'")
db.execute("SET TimeZone = 'UTC'")
problems, compared = [], 0


def links(files):
    return f"read_parquet({files}, hive_partitioning = true, hive_types = {{brand: varchar, dt: varchar}}, union_by_name = true)"


def compare(what, found, wanted):
    """Rows, as often as they are there, in both directions, under the columns of the wanted ones."""
    global compared
    columns = ", ".join(f'"{row[0]}"' for row in db.execute(f"DESCRIBE SELECT * FROM {wanted}").fetchall())
    for one, other in ((found, wanted), (wanted, found)):
        sql = f"SELECT count(*) FROM (SELECT {columns} FROM {one} EXCEPT ALL SELECT {columns} FROM {other})"
        differences = db.execute(sql).fetchone()[0]
        if differences:
            problems.append(f"{what}: {differences} rows of {one} differ")
    compared += db.execute(f"SELECT count(*) FROM {wanted}").fetchone()[0]


for table in sorted(os.listdir(f"{folder}/iceberg")):
    path = f"{folder}/iceberg/{table}"
    current = links(f"'{folder}/current/{table}/**/*.parquet'")
    compare(f"{table} in DuckDB", f"iceberg_scan('{path}')", current)
    rows = StaticTable.from_metadata(path).scan().to_arrow()
    compare(f"{table} in pyiceberg", "rows", current)

path = f"{folder}/iceberg/{expected['table']}"
table = StaticTable.from_metadata(path)
files_of = {}
for snapshot in table.snapshots():
    scan = table.scan(snapshot_id=snapshot.snapshot_id)
    files_of[snapshot.snapshot_id] = sorted(task.file.file_path for task in scan.plan_files())
    wanted = links([file.removeprefix("file://") for file in files_of[snapshot.snapshot_id]])
    compare("a snapshot in DuckDB", f"iceberg_scan('{path}', snapshot_from_id = {snapshot.snapshot_id})", wanted)
    rows = scan.to_arrow()
    compare("a snapshot in pyiceberg", "rows", wanted)
for number, instant in enumerate(expected["instants"]):
    found = table.snapshot_as_of_timestamp(instant["atMs"])
    if found is None or files_of[found.snapshot_id] != instant["files"]:
        problems.append(f"as of {instant['atMs']}: {found}")
    if number < 20:
        as_of = f"snapshot_from_timestamp = make_timestamp({instant['atMs']} * 1000)"
        wanted = links([file.removeprefix("file://") for file in instant["files"]])
        compare("an instant in DuckDB", f"iceberg_scan('{path}', {as_of})", wanted)
if table.snapshot_as_of_timestamp(expected["firstMs"] - 1) is not None:
    problems.append("there is a snapshot before the first one")
print(json.dumps({"problems": problems, "compared": compared, "snapshots": len(files_of)}))
