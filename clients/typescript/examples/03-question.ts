// Answers a question. No pattern says what a question looks like.
import { connect } from 'shelld';
await using shelld = await connect();
await using job = await shelld.start('read -p "Name? " n; echo "Hello, $n"');
console.log((await job.question()).prompt);
console.log((await job.answer('Ada')).text.trim());
