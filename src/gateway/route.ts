import type { Job } from './job.ts';
import type { Target } from './resolve.ts';

/** The targets in the order in which to try them, and why. */
export interface Route {
  targets: Target[];
  /** For the header `x-service-route`. */
  why: string;
}

/** The router's stage. It keeps the order of the resolver; `service.route` is read and recorded. */
export function route(job: Job, targets: Target[]): Route {
  return { targets, why: job.options.route === false ? 'off' : 'as-asked' };
}
