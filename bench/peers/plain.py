"""The plain script: requests, orjson and pyarrow, a day into one zstd Parquet file, and nothing else.

No retry, no check of the envelope, no schema that outlives the run: what an afternoon's script does. It is as lean as
it gets with these libraries: a row group is written as soon as it is full, so that memory does not grow with the day.
"""

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import requests

from interface import ADDRESS, DAYS, FOLDER, ROUTE, Signature, fields_of

ROWS_PER_GROUP = 20_000

session = requests.Session()
session.auth = Signature()


def read_day(day):
    writer = None
    rows = []
    cursor = None
    while True:
        response = session.post(ADDRESS, params=ROUTE, json={**fields_of(day), "cursor": cursor})
        response.raise_for_status()
        data = orjson.loads(response.content)["data"]
        rows.extend(data["list"])
        cursor = data["cursor"]
        if len(rows) >= ROWS_PER_GROUP or (rows and cursor is None):
            table = pa.Table.from_pylist(rows, schema=writer.schema if writer else None)
            writer = writer or pq.ParquetWriter(f"{FOLDER}/{day}.parquet", table.schema, compression="zstd")
            writer.write_table(table)
            rows.clear()
        if cursor is None:
            break
    if writer:
        writer.close()


for day in DAYS:
    read_day(day)
