"""dlt into Parquet files on a local filesystem destination, in two ways.

default: a RESTClient with the paginator for this style, and no setting but the file format.
tuned: as dlt's page "Optimizing dlt" advises: pages are yielded, dlt's requests wrapper and its JSON parser (orjson)
read them, intermediary files are rotated so that the normalizer's worker processes share the work, and buffers are
larger. The settings are in TUNED below; there is a worker process for each core.
"""

import os
import sys

TUNED = {
    "DATA_WRITER__BUFFER_MAX_ITEMS": "20000",
    "EXTRACT__DATA_WRITER__FILE_MAX_ITEMS": "25000",
    "NORMALIZE__DATA_WRITER__FILE_MAX_ITEMS": "100000",
    "NORMALIZE__WORKERS": str(os.cpu_count()),
    "LOAD__WORKERS": "4",
    "LOAD__DELETE_COMPLETED_JOBS": "true",
}

IS_TUNED = sys.argv[1:] == ["tuned"]
os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
if IS_TUNED:
    os.environ.update(TUNED)

import dlt
from dlt.common import json
from dlt.sources.helpers import requests
from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.paginators import JSONResponseCursorPaginator

from interface import ADDRESS, DAYS, FOLDER, ROUTE, Signature, fields_of


@dlt.resource(name="transactions")
def default_pages():
    client = RESTClient(
        base_url=ADDRESS,
        auth=Signature(),
        paginator=JSONResponseCursorPaginator(cursor_path="data.cursor", cursor_body_path="cursor"),
        data_selector="data.list",
    )
    for day in DAYS:
        yield from client.paginate(method="POST", params=ROUTE, json=fields_of(day))


@dlt.resource(name="transactions")
def tuned_pages():
    session = requests.Client().session
    session.auth = Signature()
    for day in DAYS:
        cursor = None
        while True:
            response = session.post(ADDRESS, params=ROUTE, json={**fields_of(day), "cursor": cursor})
            data = json.loadb(response.content)["data"]
            yield data["list"]
            cursor = data["cursor"]
            if cursor is None:
                break


if __name__ == "__main__":
    pipeline = dlt.pipeline(
        pipeline_name="bench",
        pipelines_dir=f"{FOLDER}/pipelines",
        destination=dlt.destinations.filesystem(bucket_url=f"file://{FOLDER}/out"),
        dataset_name="lake",
    )
    pages = tuned_pages() if IS_TUNED else default_pages()
    # dlt appends by default; "replace" prevents a rerun from doubling the day, but would lose other days.
    disposition = "replace" if IS_TUNED else "append"
    print(pipeline.run(pages, loader_file_format="parquet", write_disposition=disposition))
