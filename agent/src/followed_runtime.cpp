#include "pinfold/agent/followed_runtime.hpp"

#include "pinfold/agent/enforced_layout.hpp"

namespace pinfold::agent {

void FollowedRuntime::set_search(enforce::ForeignSearch search) {
  if (!agent_.enforced_) return;
  agent_.runtime_roots_ = search.roots;
  agent_.enforced_->set_foreign_search(std::move(search));
}

Result<CpuSet> FollowedRuntime::confine(const std::string& also) {
  if (!agent_.enforced_) return NodeAgent::enforces_nothing();
  return agent_.enforced_->confine_foreign(agent_.desired(), also);
}

std::vector<ConfinedNews> FollowedRuntime::take_news() {
  return agent_.enforced_ ? agent_.enforced_->take_news() : std::vector<ConfinedNews>();
}

Result<void> FollowedRuntime::set_quota(const std::string& directory,
                                        const enforce::CpuQuota& quota) {
  if (!agent_.enforced_) return NodeAgent::enforces_nothing();
  return agent_.enforced_->set_quota(directory, quota);
}

}  // namespace pinfold::agent
