// The smallest sensible proxy in Node, to compare gw with. Usage: node bare-proxy.mjs UPSTREAM; prints its port.
import { createServer } from 'node:http';
import { Pool } from 'undici';

const pool = new Pool(process.argv[2], { connections: 256 });
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding'];

const server = createServer(async (request, response) => {
  const headers = { ...request.headers };
  for (const name of ['host', ...HOP_BY_HOP]) delete headers[name];
  try {
    const { url: path, method } = request;
    const answer = await pool.request({ path, method, headers, body: request });
    for (const name of HOP_BY_HOP) delete answer.headers[name];
    response.writeHead(answer.statusCode, answer.headers);
    answer.body.pipe(response);
  } catch {
    response.writeHead(502).end();
  }
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
