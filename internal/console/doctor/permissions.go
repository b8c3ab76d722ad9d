package doctor

// WorkerPermissions are the least permissions that the user of a worker needs, as ACL SETUSER takes them. CONFIG is not
// among them, because it shows passwords. docs/deploy.md has the same list.
const WorkerPermissions = "~{load:* ~load:runs &{load:* " +
	"+ping +select +info +time +cluster|slots +eval +evalsha +publish +subscribe " +
	"+get +set +del +exists +type +pexpire +persist +pttl +hget +hset +hsetnx +hdel +hmget +hgetall +hexists +hincrby +hscan +hlen " +
	"+zadd +zrem +zscore +zcard +zcount +zrange +zrangebyscore +zrevrange +zrevrangebyscore +zremrangebyscore +xadd +xrange +lindex +llen +lrange +lpush +lpushx +rpush +ltrim"

// operatorsOwn are the additional permissions for the user of loadctl.
const operatorsOwn = "+xrevrange +xtrim +cluster|info ~limit:{limiters-*"

// OperatorPermissions are the least permissions that the user of loadctl needs for all commands.
const OperatorPermissions = WorkerPermissions + " " + operatorsOwn
