// Talks to Python's prompt.
import { connect } from 'shelld';
await using shelld = await connect();
await using python = await shelld.start(['python3', '-q']);
await python.question();
await python.answer('x = 6');
console.log((await python.answer('x * 7')).text.split('\n')[0]);
