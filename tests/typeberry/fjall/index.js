// A database that the node can use but does not need: the chain is kept in memory.
module.exports = {};
