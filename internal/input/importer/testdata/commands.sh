curl 'https://shop.test/login?x=1#f' \
  -H 'accept: */*' \
  -H 'content-type: application/json' \
  -H 'cookie: a=b' -H 'user-agent: Moz illa/5.0 (X11; Linux)' \
  --data-raw $'{"user":"ann\u0021","n":[1,2.5,{}],"t":"${x}"}' --compressed ;
curl 'https://shop.test/items/1' -H 'accept: */*' -H 'user-agent: Moz illa/5.0 (X11; Linux)' -kL -u a:b
curl -G https://shop.test/search --data-urlencode 'q=a b&c' -d z=1
curl https://shop.test/form -d 'a=1&b=x+y' -X PUT
curl https://shop.test/text -H 'Content-Type: text/plain' --data-binary $'line one\n  line two: {x}\n'
curl https://other.test
