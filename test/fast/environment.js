import { TestEnvironment } from 'jest-environment-node';

/** Gives `suites.ts` the block in which jest defines tests, because the function of a `describe` cannot await an import. */
export default class extends TestEnvironment {
  /**
   * @param {{ name: string }} event
   * @param {{ currentDescribeBlock: { children: readonly unknown[] } }} state
   */
  handleTestEvent(event, state) {
    if (event.name === 'setup') this.global.definitions = state;
  }
}
