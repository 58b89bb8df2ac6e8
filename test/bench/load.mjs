// Sends the same request again and again on keep-alive connections for a time, and prints what came of it as JSON.
// Usage: node load.mjs '{"port","key","body","connections","seconds"}'
import { connect } from 'node:net';

const { port, key, body, connections, seconds } = JSON.parse(process.argv[2]);
const REQUEST = `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const started = performance.now();
const until = started + seconds * 1_000;
const totals = [];
const firsts = [];
let errors = 0;
let firstError;

/** Resolves when the connection has had its last answer. */
function run() {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    let received = '';
    let sentAt = 0;
    let firstAt = 0;
    const send = () => {
      received = '';
      firstAt = 0;
      sentAt = performance.now();
      socket.write(REQUEST);
    };
    const fail = (reason) => {
      errors++;
      firstError ??= String(reason);
      socket.destroy();
      resolve();
    };
    socket.on('connect', send);
    socket.on('error', fail);
    socket.on('end', () => fail('the connection was closed'));
    socket.on('data', (chunk) => {
      received += chunk.latin1Slice();
      const head = received.indexOf('\r\n\r\n') + 4;
      if (head < 4) return;
      if (firstAt === 0 && received.length > head) firstAt = performance.now();
      if (!isWhole(received, head)) return;
      if (!received.startsWith('HTTP/1.1 200')) return fail(received.slice(0, 500));
      totals.push(performance.now() - sentAt);
      firsts.push(firstAt - sentAt);
      if (performance.now() < until) return send();
      socket.destroy();
      resolve();
    });
  });
}

function isWhole(received, head) {
  const length = /content-length: (\d+)/i.exec(received.slice(0, head))?.[1];
  return length === undefined ? received.endsWith('\r\n0\r\n\r\n') : received.length >= head + Number(length);
}

function quantile(values, share) {
  return values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? null;
}

await Promise.all(Array.from({ length: connections }, run));
console.log(
  JSON.stringify({
    requests: totals.length,
    perSecond: (totals.length / (performance.now() - started)) * 1_000,
    errors,
    firstError,
    p50: quantile(totals, 0.5),
    p99: quantile(totals, 0.99),
    first: quantile(firsts, 0.5),
  }),
);
