import type { Job } from './job.ts';

/** The prompt as it is to be sent on, and what making it shorter saved. */
export interface Optimized {
  job: Job;
  savedTokens: number;
}

/** The context optimizer's stage. It passes every prompt as it is; `service.optimize` is read and recorded. */
export function optimize(job: Job): Optimized {
  return { job, savedTokens: 0 };
}
