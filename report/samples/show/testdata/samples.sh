# request 100 of worker host-1: status
# fill in what is [redacted]
curl -i -g --path-as-is --http1.1 -X POST -H 'Host: 127.0.0.1:8080' -H 'Authorization: [redacted]' -H 'Content-Type: application/json' -H 'Content-Length: 7' -H 'Cookie: theme=dark; lang=en' -H 'User-Agent:' -H 'Accept:' -H 'Expect:' --data-binary '{"a":1}' 'http://127.0.0.1:8080/pay?a=1&b=%20x'

# request 251 of worker host-2: timeout
# fill in what is [redacted]
curl -i -g --path-as-is --http1.1 -X POST -H 'Host: 127.0.0.1:8080' -H 'Authorization: [redacted]' -H 'Content-Type: application/json' -H 'Content-Length: 10' -H 'Cookie: theme=dark; lang=en' -H 'User-Agent:' -H 'Accept:' -H 'Expect:' --data-binary 'it'\''s 100 %' 'http://127.0.0.1:8080/pay?a=1&b=%20x'

# request 330 of worker host-1: ok
# fill in what is [redacted]
curl -i -g --path-as-is --http1.1 -X POST -H 'Host: 127.0.0.1:8080' -H 'Authorization: [redacted]' -H 'Content-Type: application/json' -H 'Content-Length: 0' -H 'Cookie: theme=dark; lang=en' -H 'User-Agent:' -H 'Accept:' 'http://127.0.0.1:8080/pay?a=1&b=%20x'

# request 331 of worker host-2: ok
# only its times were kept
