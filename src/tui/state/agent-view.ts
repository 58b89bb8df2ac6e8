/** An agent whose settings point at gw. */
export interface AgentView {
  name: string;
  /** Requests in the agent's log that bypassed gw. */
  bypassed: number;
}
