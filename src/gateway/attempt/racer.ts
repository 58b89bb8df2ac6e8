import type { Gateway } from '../context/gateway.ts';
import type { Metered } from '../metering/metered.ts';
import type { CallEnd } from '../upstream/send.ts';
import { wordFor } from './history.ts';
import { meterReport } from './meter-report.ts';
import { type Call, endCall, trailText } from './start.ts';

const GIVEN_UP: CallEnd = { kind: 'aborted', sent: true };

/** One of two calls for the same answer. The first to have content gives the other up, so that only one ever writes. */
export class Racer {
  readonly call: Call;
  readonly ended: Promise<void>;
  /** The other had content first, and it was given up. */
  isOutrun = false;
  /** The other had ended before. */
  isLast = false;
  durationMs = 0;
  hasEnded = false;
  #hasStarted = false;
  #rival: Racer | undefined;
  #spent: Metered | Promise<Metered> | undefined;
  readonly #gateway: Gateway;
  readonly #onContent: () => void;

  constructor(gateway: Gateway, call: Call, onContent: () => void) {
    this.call = call;
    this.#gateway = gateway;
    this.#onContent = onContent;
    // What goes out only once it has ended without having won is a failure that is passed on.
    call.report.relay.onStart = () => {
      if (!this.hasEnded) this.#win();
    };
    this.ended = call.running.end.then((end) => this.#end(end));
  }

  /** It has an answer, or will have none. */
  get isOver(): boolean {
    return this.#hasStarted || this.hasEnded;
  }

  /** Lets it run against another, which has just begun. */
  against(rival: Racer): void {
    this.#rival = rival;
    rival.#rival = this;
    const { exchange } = this.call.forwarding.job;
    exchange.onGone = () => {
      this.call.running.abort();
      rival.call.running.abort();
    };
  }

  /** What it cost, or may have, as of its end. */
  async spent(): Promise<Metered> {
    const { forwarding, report } = this.call;
    report.metered = await (this.#spent ?? meterReport(this.#gateway, forwarding, report));
    return report.metered;
  }

  #win(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#onContent();
    const rival = this.#rival;
    if (!rival) return;
    if (!rival.hasEnded) {
      rival.isOutrun = true;
      rival.call.running.abort();
    }
    this.#tell(rival);
  }

  /** For the headers of an answer that begins before all is known. */
  #tell({ call, isOutrun }: Racer): void {
    const { forwarding, about } = this.call;
    const { provider, model } = call.forwarding.target;
    const outcome = isOutrun ? 'outrun' : wordFor(call.report.failure, call.report.relay.status);
    if (forwarding.route)
      about.route = trailText(forwarding.route, undefined, [{ provider: provider.name, model, outcome }]);
  }

  #end(end: CallEnd): void {
    const { call } = this;
    const { report, permit, forwarding } = call;
    const rival = this.#rival;
    // An end that came as it was given up is nobody's answer any more.
    endCall(this.#gateway, call, this.isOutrun && end.kind === 'complete' ? GIVEN_UP : end);
    this.hasEnded = true;
    this.durationMs = this.#gateway.clock.monotonic() - report.sentAt;
    if (!this.isOutrun && !report.failure && end.kind === 'complete') this.#win();
    if (rival && !rival.hasEnded) forwarding.job.exchange.onGone = rival.call.running.abort;
    this.isLast = rival?.hasEnded === true;
    if (this.isOutrun) permit?.outrun(this.durationMs);
    // At once: the time that the other goes on is not time that this one's provider had.
    if (rival && (this.isOutrun || report.failure))
      this.#spent = report.metered ?? meterReport(this.#gateway, forwarding, report);
  }
}
