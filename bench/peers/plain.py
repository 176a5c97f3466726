"""The plain script: requests, orjson and pyarrow, one day into one zstd Parquet file, and nothing else.

No retry, no check of the envelope, no schema that outlives the run: what an afternoon's script does. It is as lean as
it gets with these libraries: a row group is written as soon as it is full, so that memory does not grow with the day.
"""

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import requests

from interface import ADDRESS, DAY, FIELDS, FOLDER, ROUTE, Signature

ROWS_PER_GROUP = 20_000

session = requests.Session()
session.auth = Signature()
writer = None
rows = []


def write_group():
    global writer
    table = pa.Table.from_pylist(rows, schema=writer.schema if writer else None)
    writer = writer or pq.ParquetWriter(f"{FOLDER}/{DAY}.parquet", table.schema, compression="zstd")
    writer.write_table(table)
    rows.clear()


cursor = None
while True:
    response = session.post(ADDRESS, params=ROUTE, json={**FIELDS, "cursor": cursor})
    response.raise_for_status()
    data = orjson.loads(response.content)["data"]
    rows.extend(data["list"])
    if len(rows) >= ROWS_PER_GROUP:
        write_group()
    cursor = data["cursor"]
    if cursor is None:
        break
if rows:
    write_group()
if writer:
    writer.close()
