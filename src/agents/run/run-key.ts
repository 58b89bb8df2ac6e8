/**
 * The variable that holds gw's key for agents that name a variable of their own. Not GW_KEY: a `.env` of the agent may
 * set that, and would win.
 */
export const RUN_KEY = 'GW_RUN_KEY';
