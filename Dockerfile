# The images of Reprise, a target for each: delivery, inference-worker, moderation, audit-log, analytics, witness, set-up.
#   docker build --target delivery --build-arg REVISION=$(git rev-parse HEAD) --tag localhost/reprise/delivery .
# They hold Node, the libraries that it is linked with, and one module for each command: no shell, no package manager. docs/operations/containers.md

# Node 24 with npm, on a Debian or the like. Read when images are built; only `node` and its libraries go into them.
ARG NODE_IMAGE=node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

# What `npm ci` reads, apart from the rest, so that it runs again when that has changed and at no other time.
FROM ${NODE_IMAGE} AS manifests
WORKDIR /repository
COPY . .
RUN mkdir /manifests && find . -name 'package*.json' -not -path '*/node_modules/*' -exec cp --parents '{}' /manifests \;

FROM ${NODE_IMAGE} AS build
WORKDIR /repository
COPY --from=manifests /manifests .
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node --conditions=source infra/containers/build.ts /images

# The root file system that all images share, and the folders of volumes, which belong to their user from the first start on.
FROM ${NODE_IMAGE} AS system
RUN mkdir -p /system/usr/local/bin /system/etc /system/tmp /system/data && chmod 1777 /system/tmp \
  && cp "$(command -v node)" /system/usr/local/bin/node \
  && ldd /usr/local/bin/node | grep -o '/[^ ]*' | xargs -I '{}' cp --parents --dereference '{}' /system \
  && for licence in /usr/local/LICENSE /usr/share/doc/libc6/copyright /usr/share/doc/libgcc-s1/copyright /usr/share/doc/libstdc++6/copyright \
  /usr/share/common-licenses; do if [ -e "$licence" ]; then cp -r --parents "$licence" /system; fi; done \
  && echo 'reprise:x:1000:1000::/data:/usr/sbin/nologin' >/system/etc/passwd \
  && echo 'reprise:x:1000:' >/system/etc/group \
  && chown 1000:1000 /system/data
COPY infra/containers/check-health.mjs /system/reprise/

# Docker gives a new volume the owner of the folder that it is mounted over. In docker-compose.yml `prepare` has all of them.
FROM ${NODE_IMAGE} AS volumes
RUN for name in operator set-up-config nats-config redis-config nginx-config delivery-config inference-worker-config moderation-config \
  audit-log-config analytics-config witness-config s3-config prometheus-config nats-1 nats-2 nats-3 archive archive-keys rows witness s3-data prometheus grafana backup; \
  do mkdir -p "/volumes/$name"; done && chmod 700 /volumes/* && chown -R 1000:1000 /volumes

FROM scratch AS service
COPY --from=system /system /
ENV NODE_ENV=production REPRISE_HOST=0.0.0.0 REPRISE_OPS_HOST=0.0.0.0 REPRISE_OPS_PORT=9464 REPRISE_DATA_DIR=/data
WORKDIR /reprise
USER 1000:1000
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/node"]
# The event loop turns. Whether an event could be stored now is /readyz, which says nothing for a restart.
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s --retries=6 CMD ["/usr/local/bin/node", "check-health.mjs", "/healthz"]
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.vendor="Reprise" org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" org.opencontainers.image.revision="${REVISION}"

FROM service AS delivery
LABEL org.opencontainers.image.title="reprise/delivery" org.opencontainers.image.description="The HTTP API of Reprise, and all that clients talk to"
COPY --from=build /images/delivery .
EXPOSE 8080 9464
CMD ["services/delivery/src/main.js"]

FROM service AS inference-worker
LABEL org.opencontainers.image.title="reprise/inference-worker" org.opencontainers.image.description="Runs generations of Reprise on engines"
COPY --from=build /images/inference-worker .
EXPOSE 9464
CMD ["services/inference-worker/src/main.js"]

FROM service AS moderation
LABEL org.opencontainers.image.title="reprise/moderation" org.opencontainers.image.description="Judges what Reprise streams"
COPY --from=build /images/moderation .
EXPOSE 9464
CMD ["services/moderation/src/main.js"]

FROM service AS audit-log
LABEL org.opencontainers.image.title="reprise/audit-log" org.opencontainers.image.description="Keeps what Reprise has streamed, and shows whether it was changed"
COPY --from=build /images/audit-log .
EXPOSE 9464
CMD ["services/audit-log/src/main.js"]

FROM service AS analytics
LABEL org.opencontainers.image.title="reprise/analytics" org.opencontainers.image.description="Measures what Reprise streams"
COPY --from=build /images/analytics .
EXPOSE 9464
CMD ["services/analytics/src/main.js"]

FROM service AS witness
LABEL org.opencontainers.image.title="reprise/witness" org.opencontainers.image.description="Cosigns the checkpoints of Reprise's audit log"
COPY --from=build /images/witness .
EXPOSE 8080 9464
CMD ["services/witness/src/main.js"]

# Creates the streams, and ends. Also makes the keys, certificates and settings of docker-compose.yml.
FROM service AS set-up
LABEL org.opencontainers.image.title="reprise/set-up" org.opencontainers.image.description="Creates what Reprise needs in NATS"
COPY --from=build /images/set-up .
COPY infra/proxies/nginx infra/proxies/nginx
COPY --from=volumes /volumes /volumes
HEALTHCHECK NONE
CMD ["infra/nats/main.js", "set-up"]
