package doctor

// WorkerPermissions are the least that the user of a worker needs, as ACL SETUSER takes them. CONFIG is not among them: it shows passwords.
// docs/deploy.md has the same list.
const WorkerPermissions = "~{load:* ~load:runs &{load:* " +
	"+ping +select +info +time +cluster|slots +eval +evalsha +publish +subscribe " +
	"+get +set +del +exists +type +pexpire +pttl +hget +hset +hmget +hgetall +hexists +hincrby +hscan +hlen " +
	"+zadd +zrem +zscore +zcount +zrange +zrangebyscore +zrevrange +zremrangebyscore +xadd +xrange +xtrim +lindex +llen +lpush +lpushx +ltrim"

// operatorsOwn are those that the user of loadctl needs besides.
const operatorsOwn = "+xrevrange +cluster|info ~limit:{limiters-*"

// OperatorPermissions are the least that the user of loadctl needs, for all commands together.
const OperatorPermissions = WorkerPermissions + " " + operatorsOwn
