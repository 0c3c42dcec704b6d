# The image of all Cagematch services: the project and its locked dependencies in a virtual environment.
FROM python:3.12-slim

ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    CAGEMATCH_LOCKS=/var/lock/cagematch \
    CAGEMATCH_SPOOL=/var/lib/cagematch/spool

# A new volume takes the owner of the folder that it is mounted on.
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin cagematch \
 && install -d -o cagematch -g cagematch /var/lock/cagematch /var/lib/cagematch/spool \
 && python3 -m venv /opt/venv

COPY requirements.lock /src/
RUN pip install --require-hashes --requirement /src/requirements.lock

COPY . /src/
RUN pip install --no-deps /src

USER cagematch
WORKDIR /home/cagematch
ENTRYPOINT ["scheduler"]
