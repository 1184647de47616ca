// A plugin for clang-tidy 14 that limits its checks to the project's declarations. Without it, they
// spend most of their time in system headers, about which nothing is reported.

#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>

#include <vector>

namespace {

namespace matchers = clang::ast_matchers;
namespace tidy = clang::tidy;

/// Called for the first node, before the search continues with the nodes below it.
class OwnDeclarations final : public tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;

  void registerMatchers(matchers::MatchFinder* finder) override {
    finder->addMatcher(matchers::translationUnitDecl().bind("unit"), this);
  }
  void check(const matchers::MatchFinder::MatchResult& found) override {
    std::vector<clang::Decl*> own;
    for (clang::Decl* const one : found.Context->getTranslationUnitDecl()->decls()) {
      if (!found.SourceManager->isInSystemHeader(one->getLocation())) own.push_back(one);
    }
    found.Context->setTraversalScope(own);
  }
};

class Module final : public tidy::ClangTidyModule {
 public:
  void addCheckFactories(tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<OwnDeclarations>("pinfold-own-declarations");
  }
};

const tidy::ClangTidyModuleRegistry::Add<Module> kModule("pinfold", "");

}  // namespace
