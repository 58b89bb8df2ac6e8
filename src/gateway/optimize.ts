import type { Level } from '../compression/compress.ts';
import type { CompressedJson } from '../compression/compress-json.ts';
import { messageOf } from '../errors.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { type Member, scanArray } from '../json/scan.ts';
import type { Gateway } from './gateway.ts';
import type { Job } from './job.ts';

/** The compressor leaves prompts of under 500 tokens alone; so few bytes need not be looked at. */
const MIN_BYTES = 1_500;

/**
 * The context optimizer's stage: the job with a shorter prompt, or the very same job. It never fails a request: on any
 * doubt the original goes out.
 */
export function optimize(gateway: Gateway, job: Job): Job | Promise<Job> {
  const messages = job.wire.messagesOf?.(job.asked);
  if (!messages || messages.end - messages.start < MIN_BYTES) return job;
  const level = levelFor(job, configuredLevel(gateway, job));
  if (level === 'off') return job;
  return compressed(gateway, job, messages, level);
}

async function compressed(gateway: Gateway, job: Job, messages: Member, level: Level): Promise<Job> {
  const { bytes } = job.asked;
  try {
    const result = await gateway.compressor.compress(
      bytes.toString('utf8', messages.start, messages.end),
      level,
    );
    if (result.changed.length === 0) return job;
    const asked = job.wire.parse(applyEdits(bytes, editsOf(bytes, messages, result)));
    return { ...job, asked, savedTokens: result.savedTokens };
  } catch (error) {
    gateway.warn(`the optimizer passed a request on as it was: ${messageOf(error)}`);
    return job;
  }
}

function configuredLevel(gateway: Gateway, { project }: Job): Level {
  const settings = gateway.settings();
  return settings['optimizer.projects'][project.name] ?? settings['optimizer.level'];
}

/** The request's own word, else the configured level; `true` means at least `safe`. */
function levelFor({ options }: Job, configured: Level): Level {
  if (options.optimize === undefined) return configured;
  if (options.optimize === true) return configured === 'off' ? 'safe' : configured;
  return options.optimize === false ? 'off' : options.optimize;
}

function editsOf(bytes: Buffer, messages: Member, { changed }: CompressedJson): Edit[] {
  const elements = scanArray(bytes, messages.start);
  return changed.map(({ index, json }) => {
    const element = elements[index];
    if (!element) throw new Error(`message ${index} is gone`);
    return { start: element.start, end: element.end, text: json };
  });
}
