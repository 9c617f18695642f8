// Has a person type a password. Here a function stands for the person.
import { connect } from 'shelld';
await using shelld = await connect({ secret: ({ prompt }) => (console.log(prompt), 'hunter2') });
await using job = await shelld.start('read -s -p "Password: " p; echo; echo "${#p} letters: $p"');
console.log((await job.wait({ exit: true })).text.trim().split('\n').at(-1));
