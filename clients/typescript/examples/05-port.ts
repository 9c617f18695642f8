// Starts a web server and uses it as soon as it listens; port 0 is whichever it takes.
import { connect } from 'shelld';
await using shelld = await connect();
await using web = await shelld.start('python3 -m http.server 0 --bind 127.0.0.1');
const { match } = await web.wait({ port: 0 });
console.log((await fetch(`http://127.0.0.1:${match!.port}/`)).status);
