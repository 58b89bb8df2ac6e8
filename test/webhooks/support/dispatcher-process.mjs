// A process that delivers what is in an outbox, and kills itself without a word at a given point of the loop.
// Arguments: database, where its time began (real milliseconds), how much faster than real time runs, and at which
// crossing of a point it dies (0: never). It exits with 0 once every delivery has ended.
import { createCalendar } from '../../../dist/calendar.js';
import { systemRandom } from '../../../dist/ids.js';
import { createNetwork } from '../../../dist/network/network.js';
import { openDatabase } from '../../../dist/store/database/open.js';
import { createLedger } from '../../../dist/store/ledger/ledger.js';
import { createOutbox } from '../../../dist/store/webhooks/outbox.js';
import { createDispatcher } from '../../../dist/webhooks/dispatcher.js';
import { createSend } from '../../../dist/webhooks/send.js';

const [path, epoch, speed, killAt] = [process.argv[2], ...process.argv.slice(3).map(Number)];

const clock = {
  now: () => Math.round(epoch + (Date.now() - epoch) * speed),
  monotonic: () => performance.now() * speed,
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs / speed);
    return () => clearTimeout(timer);
  },
};

let crossed = 0;
function point() {
  if (++crossed === killAt) process.kill(process.pid, 'SIGKILL');
}

/** Crosses a point before a call and one after it. */
function between(call) {
  return async (...args) => {
    point();
    const result = await call(...args);
    point();
    return result;
  };
}

const db = await openDatabase(path);
const calendar = createCalendar('UTC');
const ledger = createLedger({ db, clock, calendar: () => calendar, slot: 0 });
const outbox = createOutbox(db, ledger.write);
const send = createSend({
  network: () => createNetwork({ proxyUrl: '', caFile: '', env: {} }),
  policy: () => ({ allowLocal: true, ownPort: 4747 }),
  clock,
});
const dispatcher = createDispatcher({
  outbox: {
    ...outbox,
    claim: between(outbox.claim),
    delivered: between(outbox.delivered),
    retryAt: between(outbox.retryAt),
    failed: between(outbox.failed),
  },
  send(post) {
    // The receiver takes a few milliseconds to answer: this one falls between request and answer.
    setTimeout(point, 2);
    return send(post);
  },
  clock,
  random: systemRandom,
  calendar: () => calendar,
  warn: (message) => console.error(message),
});

dispatcher.start();
const open = db.prepare('SELECT count(*) FROM deliveries WHERE finished_at IS NULL').pluck();
const watch = setInterval(async () => {
  if (open.get() > 0) return;
  clearInterval(watch);
  await dispatcher.stop();
  process.exit(0);
}, 20);
