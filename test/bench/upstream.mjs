// A provider that answers at once with answers made beforehand. It speaks just enough HTTP for what is measured, on
// raw sockets, so that it costs a fraction of any proxy. Prints its port.
import { createServer } from 'node:net';

const CHUNKS = 40;
const CHUNK_EVERY_MS = 5;

const usage = { prompt_tokens: 12, completion_tokens: CHUNKS, total_tokens: 12 + CHUNKS };
const about = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'bench' };
const message = { role: 'assistant', content: 'It is a fine day to measure things. '.repeat(8) };
const plain = JSON.stringify({
  ...about,
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage,
});
const PLAIN = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${plain.length}\r\n\r\n${plain}`;

const chunked = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;
const event = (data) =>
  chunked(`data: ${JSON.stringify({ ...about, object: 'chat.completion.chunk', ...data })}\n\n`);
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const CHUNK = event({ choices: [{ index: 0, delta: { content: 'measure ' }, finish_reason: null }] });
const USAGE = event({ choices: [], usage });
const DONE = `${chunked('data: [DONE]\n\n')}0\r\n\r\n`;

const named = (type, data) => chunked(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
/** A stream of Anthropic's messages, which reports a token for each four bytes of the request. */
const messages = (bytes) =>
  STREAM_HEAD +
  named('message_start', {
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'bench',
      content: [],
      usage: { input_tokens: Math.ceil(bytes / 4), output_tokens: 1 },
    },
  }) +
  named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'measure ' } }).repeat(CHUNKS) +
  named('content_block_stop', { index: 0 }) +
  named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: CHUNKS } }) +
  named('message_stop', {}) +
  '0\r\n\r\n';

const MODELS = JSON.stringify({
  object: 'list',
  data: [{ id: 'bench', object: 'model', owned_by: 'bench' }],
});
const LIST = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${MODELS.length}\r\n\r\n${MODELS}`;

function answer(socket, body) {
  if (body.startsWith('GET ')) return socket.write(LIST);
  if (body.startsWith('POST /v1/messages')) return socket.write(messages(body.length));
  if (!body.includes('"stream":true')) return socket.write(PLAIN);
  const end = body.includes('"include_usage":true') ? USAGE + DONE : DONE;
  let sent = 1;
  socket.write(STREAM_HEAD + CHUNK);
  const timer = setInterval(() => {
    if (sent++ < CHUNKS && !socket.destroyed) return socket.write(CHUNK);
    clearInterval(timer);
    socket.write(end);
  }, CHUNK_EVERY_MS);
}

const server = createServer((socket) => {
  socket.setNoDelay(true);
  let received = '';
  let length = 0;
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received += chunk.latin1Slice();
    if (length === 0) {
      const head = received.indexOf('\r\n\r\n');
      if (head < 0) return;
      length = head + 4 + Number(/content-length: (\d+)/i.exec(received.slice(0, head))?.[1] ?? 0);
    }
    if (received.length < length) return;
    const request = received;
    received = '';
    length = 0;
    answer(socket, request);
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
