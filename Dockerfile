# An image with both commands and nothing else: no shell, no packages, not root.
#
#   docker build --build-arg VERSION=$(git describe --tags --always) -t loadctl .
#   docker run -e LOADCTL_REDIS loadctl status checkout
#   docker run -e LOADCTL_REDIS --entrypoint loadworker loadctl run --run checkout --wait --allow-hosts 10.0.0.9

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
# Modules change less often than code: with a layer of their own they are not fetched each time.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev COMMIT=
# Go builds for any platform on any other, so that nothing has to be emulated. Empty means the one it runs on.
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT -X github.com/loadctl/loadctl/targets/loadworker.version=$VERSION -X github.com/loadctl/loadctl/targets/loadworker.commit=$COMMIT" -o bin/ ./cmd/loadctl ./cmd/loadworker

FROM scratch
# The authorities to trust behind https:// and rediss://.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/bin/ /usr/local/bin/
ENV PATH=/usr/local/bin
# Nobody; a number, so that Kubernetes can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["loadctl"]
CMD ["--help"]
