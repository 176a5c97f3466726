"""What both Python competitors need to call the service: its address, the days to read, and how a request is signed."""

import hashlib
import os
from email.utils import formatdate

import requests.auth

ADDRESS = os.environ["BENCH_URL"]
DAYS = os.environ["BENCH_DAYS"].split(",")
FOLDER = os.environ["BENCH_FOLDER"]
ACTION = "report/transaction_list"
TOKEN = "token-of-bench"
SECRET = "secret-of-bench"
ROUTE = {"bid": "1001", "token": TOKEN, "action": ACTION, "version": "1.0"}


def fields_of(day):
    return {"limit": 200, "start_date": day, "end_date": day}


class Signature(requests.auth.AuthBase):
    """A fresh date and digest for each request."""

    def __call__(self, request):
        date = formatdate(usegmt=True)
        digest = hashlib.sha256(f"{TOKEN};{ACTION};{date};{SECRET}".encode()).hexdigest()
        request.headers["X-BENCH-DATE"] = date
        request.headers["X-BENCH-AUTHENTICATION"] = digest
        return request
