import { applyEdits } from '../../../json/edit.ts';
import { SHADOW_PROCESS } from '../../../origin.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import type { Gateway } from '../../context/gateway.ts';
import type { Job } from '../../context/request-context.ts';
import { cross } from '../../routing/translate.ts';
import type { RoutedTarget } from '../../state/resolve.ts';

/** What a client asked for, as a request of its own to another target: not streamed, not stored, and short. */
export function shadowJob(
  gateway: Gateway,
  job: Job,
  target: RoutedTarget,
  mostTokens: number,
): Job | undefined {
  const body = parseObject(applyEdits(job.asked.bytes, job.asked.edits).toString('utf8'));
  if (!body || body.background === true) return undefined;
  for (const field of ['stream', 'stream_options', 'store', 'background']) delete body[field];
  if (job.wire.endpoint === 'responses') body.store = false;
  const crossed = cross(
    {
      exchange: {
        ...job.exchange,
        id: gateway.nextId(),
        startedAt: gateway.clock.monotonic(),
        gone: false,
        recorded: false,
        onGone: undefined,
      },
      caller: job.caller,
      project: job.project,
      origin: { process: SHADOW_PROCESS, repo: job.origin.repo },
      wire: job.wire,
      asked: job.wire.parse(Buffer.from(JSON.stringify(body))),
      options: {},
      savedTokens: 0,
    },
    target,
    gateway,
  );
  const { asked, wire } = crossed;
  const limit = Math.min(asked.maxOutputTokens ?? mostTokens, mostTokens);
  const edits = [...asked.edits, ...wire.limitOutput(asked, limit, target.provider.outputLimit)];
  // Read once more: what may be billed beyond the limit depends on the limit.
  return { ...crossed, asked: wire.parse(applyEdits(asked.bytes, edits)) };
}
