#include <iostream>
#include <string>
#include <vector>

#include "cli/app.hpp"

int main(int argc, char** argv) {
  return wgrad::cli::run_app({argv + 1, argv + argc}, std::cout, std::cerr);
}
