# docker build --tag layover .
#
# Compiles on the machine that builds, for the platform that is asked for:
# docker build --platform linux/arm64 needs no emulation. Builders without BuildKit
# know no platforms, and build for the machine that they run on.
FROM --platform=${BUILDPLATFORM:-linux} golang:1.26 AS build
WORKDIR /src
ENV CGO_ENABLED=0
# For builds that have to fetch modules in another way than Go's default.
ARG GOPROXY GOSUMDB

# The modules alone, so that a change of the code does not load them again.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
RUN go build -trimpath -o /sbom ./deploy/sbom
ARG TARGETOS TARGETARCH
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -o /dev/null .
# What `layover version` says: --build-arg VERSION=v1.2.3 --build-arg REVISION=COMMIT. It
# has to be told the commit, since the repository is no part of the build. With others
# the packages are compiled already.
ARG VERSION REVISION
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION -X main.revision=$REVISION" -o /layover . && \
    /sbom -version "$VERSION" /layover >/sbom.cdx.json

FROM gcr.io/distroless/static-debian12:nonroot
# A bill of materials, where scanners and people find it without a registry.
COPY --from=build /layover /sbom.cdx.json /
# As a number, because Kubernetes cannot tell from a name that it is not root.
USER 65532:65532
EXPOSE 9846
ENTRYPOINT ["/layover"]
# There is no shell and no curl: the binary asks itself.
HEALTHCHECK --interval=10s --timeout=5s --start-period=15s --retries=3 CMD ["/layover", "health"]
# Where an image comes from is for who publishes one to say:
# --label org.opencontainers.image.source=URL.
ARG VERSION REVISION
LABEL org.opencontainers.image.title="Layover" \
      org.opencontainers.image.description="Delayed records for Kafka: a record with a delay header goes into one topic and comes out of another on time." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="gcr.io/distroless/static-debian12:nonroot" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
