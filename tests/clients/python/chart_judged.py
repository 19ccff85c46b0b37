"""Judges a Helm chart: Helm's own lint, and what it renders by Kubernetes' schemas. Prints what was rendered."""

import sys

import helm_python
import kubernetes_validate
import yaml

ERROR = 3
KUBERNETES = "1.37"
# Kinds of others' operators, which Kubernetes itself has no schema of.
FOREIGN = {"ServiceMonitor"}
SETTINGS = [
    {},
    {
        "ingress": {"enabled": True, "host": "a.example", "tlsSecret": "tls"},
        "monitoring": {"enabled": True},
        "publicUrl": "https://a.example",
        "secrets": ["providers"],
        "database": {"secret": "db", "key": "address"},
    },
]


def sources(manifest):
    """Where a container's variables come from that are no text: secret and key."""
    spec = manifest.get("spec", {}).get("template", {}).get("spec", {})
    for container in spec.get("containers", []):
        for variable in container["env"]:
            if "valueFrom" in variable:
                source = variable["valueFrom"]["secretKeyRef"]
                yield f"{variable['name']}={source['name']}/{source['key']}"


def main(path):
    for values in SETTINGS:
        lint = helm_python.lint(path, values, strict=True)
        wrong = [message for message in lint["messages"] if message["severity"] >= ERROR]
        assert not wrong and not lint["errors"], lint
    with helm_python.Chart.load(path) as chart:
        for values in SETTINGS:
            chart.validate_schema(values)
            for file, text in chart.render(values, name="gw", namespace="models").items():
                for manifest in filter(None, yaml.safe_load_all(text)):
                    kind = manifest["kind"]
                    if kind not in FOREIGN:
                        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
                    print(kind, manifest["metadata"]["name"], *sources(manifest))
        for values in ({"replicas": 2}, {"replica": 1}, {"database": {"url": "postgres://me:sekret@host/db"}}):
            try:
                chart.validate_schema(values)
                sys.exit(f"taken, expected a refusal: {values}")
            except helm_python.HelmValuesError as error:
                print("refused:", " ".join(str(error).split()))


main(sys.argv[1])
