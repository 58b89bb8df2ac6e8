import { createRequire } from 'node:module';
import type { errors as Errors, Pool as PoolClass } from 'undici';

// Two parts of undici by their files: the whole brings fetch, web sockets, caches and mocks along, 8 MB that a
// gateway on somebody's own machine has no use for.
const require = createRequire(import.meta.url);

export const Pool: typeof PoolClass = require('undici/lib/dispatcher/pool.js');
export type Pool = PoolClass;
export const errors: typeof Errors = require('undici/lib/core/errors.js');
