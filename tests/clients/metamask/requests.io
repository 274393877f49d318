# What MetaMask asks a node, in its order and with its kinds of ids. `*` in an answer stands for anything; fields that
# are not mentioned may be there. A receipt is asked for again after each block until it is there.

# The form for a new network: is there a node, and which chain? (Ids are times, as text.)
>> {"id":"1763316000123","jsonrpc":"2.0","method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":"1763316000123","result":"0xb2eae"}
>> {"id":"1763316000187","jsonrpc":"2.0","method":"net_version","params":[]}
<< {"jsonrpc":"2.0","id":"1763316000187","result":"732846"}
>> {"id":"1763316000201","jsonrpc":"2.0","method":"web3_clientVersion","params":[]}
<< {"jsonrpc":"2.0","id":"1763316000201","result":"*"}

# The network is chosen: does it have a fee market?
>> {"id":3894718491,"jsonrpc":"2.0","method":"net_version","params":[]}
<< {"jsonrpc":"2.0","id":3894718491,"result":"732846"}
>> {"id":3894718492,"jsonrpc":"2.0","method":"eth_getBlockByNumber","params":["latest",false]}
<< {"jsonrpc":"2.0","id":3894718492,"result":{"number":"0x0","baseFeePerGas":"0x3b9aca00","gasLimit":"0x7270e00","transactions":[]}}
>> {"id":3894718493,"jsonrpc":"2.0","method":"eth_blockNumber","params":[]}
<< {"jsonrpc":"2.0","id":3894718493,"result":"0x0"}

# The account: balances one by one, and by contracts that other chains have. Here they answer nothing, as no code does.
>> {"id":3894718494,"jsonrpc":"2.0","method":"eth_getBalance","params":["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","0x0"]}
<< {"jsonrpc":"2.0","id":3894718494,"result":"0x21e19e0c9bab2400000"}
>> {"id":3894718495,"jsonrpc":"2.0","method":"eth_getBalance","params":["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","latest"]}
<< {"jsonrpc":"2.0","id":3894718495,"result":"0x21e19e0c9bab2400000"}
>> {"id":3894718496,"jsonrpc":"2.0","method":"eth_call","params":[{"to":"0xb1f8e55c7f64d203c1400b9d8555d050f94adf39","data":"0xf0002ea9000000000000000000000000000000000000000000000000000000000000004000000000000000000000000000000000000000000000000000000000000000800000000000000000000000000000000000000000000000000000000000000001000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb9226600000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000"},"latest"]}
<< {"jsonrpc":"2.0","id":3894718496,"result":"0x"}
>> {"id":3894718497,"jsonrpc":"2.0","method":"eth_call","params":[{"to":"0xca11bde05977b3631167028862be2a173976ca11","data":"0x82ad56cb000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000020000000000000000000000000ca11bde05977b3631167028862be2a173976ca110000000000000000000000000000000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000000000006000000000000000000000000000000000000000000000000000000000000000244d2301cc000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb9226600000000000000000000000000000000000000000000000000000000"},"0x0"]}
<< {"jsonrpc":"2.0","id":3894718497,"result":"0x"}
>> {"id":3894718498,"jsonrpc":"2.0","method":"eth_getCode","params":["0xca11bde05977b3631167028862be2a173976ca11","latest"]}
<< {"jsonrpc":"2.0","id":3894718498,"result":"0x"}
>> {"id":3894718499,"jsonrpc":"2.0","method":"eth_getTransactionCount","params":["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","0x0"]}
<< {"jsonrpc":"2.0","id":3894718499,"result":"0x0"}

# A transfer is being written: who is the receiver, what does it cost?
>> {"id":3894718500,"jsonrpc":"2.0","method":"eth_getCode","params":["0x70997970c51812dc3a010c7d01b50e0d17dc79c8","latest"]}
<< {"jsonrpc":"2.0","id":3894718500,"result":"0x"}
>> {"id":3894718501,"jsonrpc":"2.0","method":"eth_estimateGas","params":[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","value":"0xde0b6b3a7640000"}]}
<< {"jsonrpc":"2.0","id":3894718501,"result":"0x5208"}
>> {"id":3894718502,"jsonrpc":"2.0","method":"eth_gasPrice","params":[]}
<< {"jsonrpc":"2.0","id":3894718502,"result":"*"}
>> {"id":3894718503,"jsonrpc":"2.0","method":"eth_feeHistory","params":["0x5","latest",[10,20,30]]}
<< {"jsonrpc":"2.0","id":3894718503,"result":{"oldestBlock":"0x0","baseFeePerGas":["0x3b9aca00","*"],"reward":[["0x0","0x0","0x0"]]}}
>> {"id":3894718504,"jsonrpc":"2.0","method":"eth_maxPriorityFeePerGas","params":[]}
<< {"jsonrpc":"2.0","id":3894718504,"result":"*"}
>> {"id":3894718505,"jsonrpc":"2.0","method":"eth_getBlockByNumber","params":["latest",false]}
<< {"jsonrpc":"2.0","id":3894718505,"result":{"baseFeePerGas":"0x3b9aca00"}}
>> {"id":3894718506,"jsonrpc":"2.0","method":"eth_call","params":[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","value":"0xde0b6b3a7640000"},"latest"]}
<< {"jsonrpc":"2.0","id":3894718506,"result":"0x"}

# More than the account has: an error that it understands.
>> {"id":3894718507,"jsonrpc":"2.0","method":"eth_estimateGas","params":[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","value":"0x21e19e0c9bab2400001"}]}
<< {"jsonrpc":"2.0","id":3894718507,"error":{"code":-32000,"message":"*"}}

# It is signed and sent.
>> {"id":3894718509,"jsonrpc":"2.0","method":"eth_blockNumber","params":[]}
<< {"jsonrpc":"2.0","id":3894718509,"result":"*"}
>> {"id":3894718510,"jsonrpc":"2.0","method":"eth_getTransactionCount","params":["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","latest"]}
<< {"jsonrpc":"2.0","id":3894718510,"result":"0x0"}
>> {"id":3894718511,"jsonrpc":"2.0","method":"eth_getTransactionCount","params":["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","pending"]}
<< {"jsonrpc":"2.0","id":3894718511,"result":"0x0"}
>> {"id":3894718512,"jsonrpc":"2.0","method":"eth_sendRawTransaction","params":["0x02f875830b2eae808459682f0084b2d05e008252089470997970c51812dc3a010c7d01b50e0d17dc79c8880de0b6b3a764000080c001a01fd2a1fbc526684cd27347fa653df513f7e02123809356e2183fa0398c30da31a0763fe71af1221157460acde7dae6606b89bc837c9ad82683227884be9647f799"]}
<< {"jsonrpc":"2.0","id":3894718512,"result":"0xe01e071f61a8dcc4a3a2cc2e4aa168fa9d62814cf45b479afb19c2815af372f3"}
>> {"id":3894718513,"jsonrpc":"2.0","method":"eth_getTransactionByHash","params":["0xe01e071f61a8dcc4a3a2cc2e4aa168fa9d62814cf45b479afb19c2815af372f3"]}
<< {"jsonrpc":"2.0","id":3894718513,"result":{"hash":"0xe01e071f61a8dcc4a3a2cc2e4aa168fa9d62814cf45b479afb19c2815af372f3","from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","nonce":"0x0","type":"0x2","chainId":"0xb2eae","maxFeePerGas":"0xb2d05e00","maxPriorityFeePerGas":"0x59682f00","value":"0xde0b6b3a7640000"}}

# It is waited for.
>> {"id":3894718514,"jsonrpc":"2.0","method":"eth_getTransactionReceipt","params":["0xe01e071f61a8dcc4a3a2cc2e4aa168fa9d62814cf45b479afb19c2815af372f3"]}
<< {"jsonrpc":"2.0","id":3894718514,"result":{"transactionHash":"0xe01e071f61a8dcc4a3a2cc2e4aa168fa9d62814cf45b479afb19c2815af372f3","status":"0x1","from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","gasUsed":"0x5208","effectiveGasPrice":"0x9502f900","type":"0x2","logs":[],"contractAddress":null,"blockNumber":"0x1","transactionIndex":"0x0"}}
>> {"id":3894718515,"jsonrpc":"2.0","method":"eth_getBlockByNumber","params":["0x1",false]}
<< {"jsonrpc":"2.0","id":3894718515,"result":{"number":"0x1","transactions":["0xe01e071f61a8dcc4a3a2cc2e4aa168fa9d62814cf45b479afb19c2815af372f3"]}}
>> {"id":3894718516,"jsonrpc":"2.0","method":"eth_getTransactionByHash","params":["0xe01e071f61a8dcc4a3a2cc2e4aa168fa9d62814cf45b479afb19c2815af372f3"]}
<< {"jsonrpc":"2.0","id":3894718516,"result":{"blockNumber":"0x1","gasPrice":"0x9502f900"}}
>> {"id":3894718517,"jsonrpc":"2.0","method":"eth_getBalance","params":["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","0x1"]}
<< {"jsonrpc":"2.0","id":3894718517,"result":"0x21e0bffe3476f023800"}
>> {"id":3894718518,"jsonrpc":"2.0","method":"eth_getBalance","params":["0x70997970c51812dc3a010c7d01b50e0d17dc79c8","latest"]}
<< {"jsonrpc":"2.0","id":3894718518,"result":"0x21e27c1806e59a40000"}
>> {"id":3894718519,"jsonrpc":"2.0","method":"eth_getTransactionCount","params":["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","0x1"]}
<< {"jsonrpc":"2.0","id":3894718519,"result":"0x1"}

# The same again, by a button that was pressed twice.
>> {"id":3894718520,"jsonrpc":"2.0","method":"eth_sendRawTransaction","params":["0x02f875830b2eae808459682f0084b2d05e008252089470997970c51812dc3a010c7d01b50e0d17dc79c8880de0b6b3a764000080c001a01fd2a1fbc526684cd27347fa653df513f7e02123809356e2183fa0398c30da31a0763fe71af1221157460acde7dae6606b89bc837c9ad82683227884be9647f799"]}
<< {"jsonrpc":"2.0","id":3894718520,"error":{"code":-32000,"message":"already known"}}
