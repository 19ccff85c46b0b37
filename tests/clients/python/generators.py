"""Clients that programs write of the API's document: generated, compiled, and used for a picture.

    generators.py DOCUMENT BASE KEY FOLDER

FOLDER gets `attrs` (openapi-python-client), `python` and `typescript-fetch` (openapi-generator). A warning that a part of the
document was left out fails. The TypeScript is used by `generated.mjs`.
"""

import compileall
import pathlib
import subprocess
import sys

DOCUMENT, BASE, KEY, FOLDER = sys.argv[1], sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
TOOLS = pathlib.Path(sys.executable).parent


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=FOLDER)
    if done.returncode != 0:
        sys.exit(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def compiled(folder):
    assert compileall.compile_dir(str(folder), quiet=1), f"{folder} does not compile"


def openapi_python_client():
    said = run(TOOLS / "openapi-python-client", "generate", "--path", DOCUMENT, "--meta", "none", "--output-path", "attrs_client")
    for word in ("will not be generated", "will be omitted", "Unable to process"):
        assert word not in said, said
    compiled(FOLDER / "attrs_client")
    from attrs_client import AuthenticatedClient
    from attrs_client.api.images import images_generate
    from attrs_client.api.tasks import tasks_read
    from attrs_client.models import ContextImageImagesGenerate

    client = AuthenticatedClient(base_url=BASE, token=KEY, raise_on_unexpected_status=True)
    body = ContextImageImagesGenerate.from_dict({"model": "ctx-pro", "prompt": "a red kite"})
    receipt = images_generate.sync(client=client, body=body)
    task = tasks_read.sync(receipt.data[0].task_id, client=client)
    assert task.data.id == receipt.data[0].task_id, task
    print("ok openapi-python-client")


def openapi_generator():
    for name in ("python", "typescript-fetch"):
        run(TOOLS / "openapi-generator-cli", "generate", "-i", DOCUMENT, "-g", name, "-o", FOLDER / name)
    compiled(FOLDER / "python")
    sys.path.insert(0, str(FOLDER / "python"))
    import openapi_client
    from openapi_client.models import ContextImageImagesGenerate, ImagesGenerateRequest

    configuration = openapi_client.Configuration(host=BASE, access_token=KEY)
    with openapi_client.ApiClient(configuration) as api:
        picture = ContextImageImagesGenerate(model="ctx-pro", prompt="a red kite")
        [made] = openapi_client.ImagesApi(api).images_generate(ImagesGenerateRequest(picture)).data.actual_instance
        task = openapi_client.TasksApi(api).tasks_read(made.task_id)
        assert task.data.id == made.task_id, task
    print("ok openapi-generator python")


sys.path.insert(0, str(FOLDER))
openapi_python_client()
openapi_generator()
