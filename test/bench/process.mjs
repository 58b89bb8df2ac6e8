// What a process has used so far: CPU time and memory, from /proc where there is one, from ps elsewhere.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** CPU time in microseconds. */
export function cpuOf(pid) {
  if (!existsSync(`/proc/${pid}/task`)) return 1e6 * seconds(ps('time', pid));
  // The scheduler counts in nanoseconds; ticks of 10 ms would be too coarse.
  const nanos = readdirSync(`/proc/${pid}/task`).map((task) =>
    readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8'),
  );
  return nanos.reduce((sum, line) => sum + Number(line.split(' ')[0]) / 1_000, 0);
}

/** Resident memory in MB, and the most that it ever was where that is known. */
export function memoryOf(pid) {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return { rss: Number(ps('rss', pid)) / 1_024, peak: null };
  const status = readFileSync(file, 'utf8');
  const kilobytes = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  return { rss: kilobytes('VmRSS') / 1_024, peak: kilobytes('VmHWM') / 1_024 };
}

const ps = (field, pid) =>
  execFileSync('ps', ['-o', `${field}=`, '-p', String(pid)], { encoding: 'utf8' }).trim();

/** `1:02:03.45` */
const seconds = (text) => text.split(/[:-]/).reduce((sum, part) => sum * 60 + Number(part), 0);
