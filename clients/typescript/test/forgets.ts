// Ends without closing its client.
import { connect } from 'shelld';
const shelld = await connect();
await shelld.run('true');
console.log('done');
